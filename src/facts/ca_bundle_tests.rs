//! Certificates as rcgen writes them, and what is none.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};

use super::*;

/// A CA in PEM that is valid from the first of January of one year to that of another.
fn ca(key: &KeyPair, name: &str, years: (i32, i32)) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(years.0, 1, 1), date_time_ymd(years.1, 1, 1));
    params.self_signed(key).unwrap().pem()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn the_dates_of_a_bundle() {
    let key = KeyPair::generate().unwrap();
    // 2049 is the last year of the short form
    for (years, from, until) in [
        ((2022, 2032), "2022-01-01T00:00:00Z", "2032-01-01T00:00:00Z"),
        ((1970, 1980), "1970-01-01T00:00:00Z", "1980-01-01T00:00:00Z"),
        ((2049, 2050), "2049-01-01T00:00:00Z", "2050-01-01T00:00:00Z"),
        ((2050, 4096), "2050-01-01T00:00:00Z", "4096-01-01T00:00:00Z"),
    ] {
        let bundle = read(&BASE64_STANDARD.encode(ca(&key, "ca", years)));
        let dates: Vec<_> = bundle.iter().map(|ca| (ca.from, ca.until)).collect();
        assert_eq!(dates, [(at(from), at(until))]);
    }
    let two = ca(&key, "a", (2020, 2030)) + &ca(&key, "b", (2021, 2031));
    let two = BASE64_STANDARD.encode(two);
    assert_eq!(read(&two).len(), 2);
    // line breaks are allowed, but not without end
    let padded = |to: usize| format!("{two}{}", "\n".repeat(to - two.len()));
    assert_eq!((read(&padded(LONGEST)).len(), read(&padded(LONGEST + 1)).len()), (2, 0));
}

#[test]
fn bundles_disagree_where_they_share_no_certificate() {
    let [old, new] = [KeyPair::generate().unwrap(), KeyPair::generate().unwrap()];
    let bundle = |pem: String| read(&BASE64_STANDARD.encode(pem));
    let (one, other) = (ca(&old, "ca", (2020, 2030)), ca(&new, "ca", (2020, 2030)));
    assert!(disagree(&bundle(one.clone()), &bundle(other.clone())));
    assert!(!disagree(&bundle(one.clone()), &bundle(one.clone() + &other)));
    // renewed with the same key, what it signed stays trusted
    assert!(!disagree(&bundle(one.clone()), &bundle(ca(&old, "ca", (2029, 2039)))));
    assert!(!disagree(&bundle(one), &[]));
}

#[test]
fn of_what_cannot_be_read_nothing_is_said() {
    let key = KeyPair::generate().unwrap();
    let pem = ca(&key, "ca", (2020, 2030));
    for text in ["", "eA==", "no base64", "LS0tLS1CRUdJTg=="] {
        assert!(read(text).is_empty(), "{text}");
    }
    // cut off or changed anywhere, it is read without a panic
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    for at in 0..der.len() {
        assert_eq!(validity(&der[..at]), None.or(validity(&der[..at])));
        for byte in [0, 0x7f, 0x80, 0x84, 0xff] {
            let mut changed = der.to_vec();
            changed[at] = byte;
            let _ = of_certificate(&CertificateDer::from(changed));
        }
    }
    assert!(read(&BASE64_STANDARD.encode(&pem[..pem.len() / 2])).is_empty());
}

#[test]
fn a_bundle_is_distrusted_where_it_is_empty_out_of_date_or_of_another_ca() {
    let [own, other] = [KeyPair::generate().unwrap(), KeyPair::generate().unwrap()];
    let bundle = |key: &KeyPair, years| BASE64_STANDARD.encode(ca(key, "ca", years));
    let (good, right) = (bundle(&own, (2020, 2030)), read(&bundle(&own, (2020, 2030))));
    let now = at("2026-01-01T00:00:00Z");
    for (text, right, expected) in [
        (good.clone(), right.as_slice(), None),
        (good, &[], None),
        (bundle(&other, (2020, 2030)), &right, Some("has another CA than the admission webhook")),
        (bundle(&other, (2020, 2030)), &[], None),
        (bundle(&own, (2016, 2026)), &right, Some("is not valid now")),
        (bundle(&own, (2027, 2037)), &right, Some("is not valid now")),
        (String::new(), &right, Some("is empty")),
        // of what cannot be read nothing is said
        ("eA==".to_owned(), &right, None),
    ] {
        assert_eq!(distrust(&text, right, now), expected);
    }
}
