//! Who reaches the port, and what outlives a restart.

use super::*;

fn peers(tools: &Tools, values: &str) -> Result<Vec<Value>> {
    let objects = render(tools, values)?;
    let policy = find(&objects, "NetworkPolicy", "")?;
    Ok(policy["spec"]["ingress"][0]["from"].as_array().cloned().unwrap_or_default())
}

#[test]
fn a_known_monitoring_namespace_closes_the_port_to_others() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    ensure!(find(&render(&tools, "")?, "NetworkPolicy", "").is_err(), "none where nothing is known");
    assert_eq!(peers(&tools, "{networkPolicy: {enabled: true}}")?, Vec::<Value>::new());
    let prometheus =
        json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}});
    let ingress = json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}});
    let known = "{networkPolicy: {monitoringNamespace: monitoring, from: [{namespaceSelector: \
                 {matchLabels: {kubernetes.io/metadata.name: ingress}}}]}}";
    let from = peers(&tools, known)?;
    assert_eq!((&from[0], from.last(), from.len()), (&prometheus, Some(&ingress), 3));
    // the pod of `helm test` is let in
    let objects = render(&tools, known)?;
    let labels = &find(&objects, "Pod", "-test")?["metadata"]["labels"];
    assert!(selects(&from[1]["podSelector"]["matchLabels"], labels), "{} {labels}", from[1]);
    Ok(())
}

#[test]
fn the_state_file_has_a_directory_of_its_own_in_a_read_only_root() -> Result<()> {
    let Some(tools) = Tools::find() else { return Ok(()) };
    let stock = render(&tools, "")?;
    assert!(!args(find(&stock, "Deployment", "")?)?.contains("--state-file"));
    let objects = render(&tools, "{stateFile: {enabled: true}}")?;
    let deployment = find(&objects, "Deployment", "")?;
    let container = container(deployment);
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let mount = &container["volumeMounts"][0];
    let directory = mount["mountPath"].as_str().context("no path")?;
    ensure!(args(deployment)?.contains(&format!("--state-file={directory}/state.json")), "{container}");
    let volume = &deployment["spec"]["template"]["spec"]["volumes"][0];
    assert_eq!((&volume["name"], volume["emptyDir"].is_object()), (&mount["name"], true));
    Ok(())
}
