use super::*;

fn lines(list: &str, piece: usize) -> Result<Vec<String>, Garbled> {
    let lines = super::lines(list.as_bytes(), piece)?;
    Ok(String::from_utf8(lines).unwrap().lines().map(str::to_owned).collect())
}

const LIST: &str = r#"{"apiVersion":"v1","items":[ {"metadata":{"name":"a, \"]}\\","x":[1,{"y":[]}]}},
    null,7,"text", {"a":"[items"}
    ],"kind":"List","metadata":{"resourceVersion":"9","labels":["x"]}}"#;

#[test]
fn no_more_than_an_object_is_held_however_long_the_list_is() {
    let object = format!("{{\"metadata\":{{\"annotations\":{{\"a\":\"{}\"}}}}}},", "x".repeat(1 << 20));
    let (mut split, mut held) = (Split::default(), 0);
    split.feed(br#"{"items":["#).unwrap();
    for piece in std::iter::repeat_n(object.as_bytes().chunks(16 << 10), 100).flatten() {
        let lines = split.feed(piece).unwrap();
        held = held.max(split.lines.capacity() + split.envelope.capacity() + lines.capacity());
    }
    assert!(held < 5 << 20, "{held} bytes of 100 MiB");
    // one without an end is given up
    let endless = vec![b'x'; 1 << 20];
    let fed = (0..).find(|_| split.feed(&endless).is_err());
    assert_eq!(fed, Some(LONGEST_LINE >> 20));
}

#[test]
fn each_item_is_a_line_however_the_bytes_arrive() {
    let whole = lines(LIST, LIST.len()).unwrap();
    let items: Vec<serde_json::Value> =
        whole.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(items[0]["object"]["metadata"]["name"], "a, \"]}\\");
    assert_eq!(
        items[1..4].iter().map(|item| &item["object"]).collect::<Vec<_>>(),
        [&json!(null), &json!(7), &json!("text")]
    );
    assert_eq!(items[5]["type"], "BOOKMARK");
    assert_eq!(items[5]["object"]["metadata"]["resourceVersion"], "9");
    for piece in 1..40 {
        assert_eq!(lines(LIST, piece).unwrap(), whole, "in pieces of {piece}");
    }
}

#[test]
fn who_wrote_which_field_is_left_out_and_all_else_stays() {
    let fields = r#"[{"manager":"m","fieldsV1":{"f:a":{".":{},"k:{\"x\":\"]},\"}":[1,{}]}}},{"x":"\\\\"}]"#;
    let list = |managed: &str| {
        let first = format!(
            r#"{{"metadata":{{"labels":{{"managedFields":"x"}}{managed},"name":"a"}},"spec":{{"b":[1]}}}}"#
        );
        let last = format!(r#"{{"metadata":{{"name":"b"{managed}}},"status":{{}}}}"#);
        format!(r#"{{"items":[{first},{last}],"metadata":{{"resourceVersion":"9"}},"managedFields":[2]}}"#)
    };
    let (with, without) = (list(&format!(r#","managedFields":{fields}"#)), list(r#","managedFields":[]"#));
    let wanted = lines(&without, without.len()).unwrap();
    assert_eq!(wanted.len(), 3);
    assert_eq!(lines(&with, with.len()).unwrap(), wanted);
    for piece in 1..with.len() {
        assert_eq!(lines(&with, piece).unwrap(), wanted, "in pieces of {piece}");
    }
    // what is no list of values ends where it should, too
    for odd in ["null", "7", "{}", "\"x,y\""] {
        assert_eq!(lines(&list(&format!(r#","managedFields":{odd}"#)), 5_000).unwrap(), wanted, "{odd}");
    }
}

#[test]
fn the_envelope_may_come_first_and_a_list_may_be_empty() {
    let first = r#"{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[{}]}"#;
    assert_eq!(lines(first, 5).unwrap().len(), 2);
    for none in [
        r#"{"metadata":{"resourceVersion":"9"},"items":[]}"#,
        r#"{"items":null,"metadata":{"resourceVersion":"9"}}"#,
    ] {
        assert_eq!(lines(none, 5).unwrap().len(), 1, "{none}");
    }
}

#[test]
fn what_is_not_a_whole_list_has_no_bookmark() {
    for end in 1..LIST.len() {
        assert!(lines(&LIST[..end], 1000).is_err(), "{}", &LIST[..end]);
    }
    for other in [
        "",
        "{}",
        "null",
        "[]",
        "<html>",
        r#"{"items":[]}"#,
        r#"{"metadata":{"resourceVersion":"9"}}"#,
        r#"{"items":{"a":[1]},"metadata":{"resourceVersion":"9"}}"#,
        r#"{"items":[],"metadata":{"resourceVersion":"9","continue":"more"}}"#,
        r#"{"items":[],"metadata":{"resourceVersion":""}}"#,
        r#"{"kind":"Status","metadata":{},"status":"Failure"}"#,
    ] {
        assert!(lines(other, 1000).is_err(), "{other}");
    }
}
