//! Short answers of the API server, read whole: bounded, as what answers may be anything.

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::Client;
use kube::client::Body;
use kube::core::Status;

/// The longest one, a list of the kinds of a group, has some tens of kB.
const LONGEST: usize = 4 << 20;

/// An answer that is none of the API server.
#[derive(Debug, thiserror::Error)]
#[error("the answer has more than {} MiB, which none of the API server has", .0 >> 20)]
pub(crate) struct TooLong(usize);

/// Asks, and reads the answer up to a bound. A refusal is an error, as with kube's own calls, which know no bound.
pub(crate) async fn ask(client: &Client, request: http::Request<Vec<u8>>) -> kube::Result<Bytes> {
    ask_for(client, request, LONGEST).await
}

/// The same up to so many bytes.
pub(crate) async fn ask_for(
    client: &Client,
    request: http::Request<Vec<u8>>,
    most: usize,
) -> kube::Result<Bytes> {
    let (head, body) = client.send(request.map(Body::from)).await?.into_parts();
    let read = Limited::new(body, most).collect().await;
    let bytes = read.map(|body| body.to_bytes()).map_err(|error| {
        kube::Error::Service(if error.is::<LengthLimitError>() { TooLong(most).into() } else { error })
    })?;
    if !head.status.is_client_error() && !head.status.is_server_error() {
        return Ok(bytes);
    }
    let said = serde_json::from_slice::<Status>(&bytes).unwrap_or_else(|_| {
        Status::failure(String::from_utf8_lossy(&bytes).trim(), "").with_code(head.status.as_u16())
    });
    Err(kube::Error::Api(said.boxed()))
}

/// The release of the API server as it writes it, which every account may ask for; none where it does not say.
pub(crate) async fn version(client: &Client) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase", expecting = "an object")]
    struct ServerVersion {
        git_version: String,
    }
    let request = http::Request::get("/version").body(Vec::new()).ok()?;
    let answer = ask(client, request).await.ok()?;
    serde_json::from_slice(&answer).ok().map(|ServerVersion { git_version }| git_version)
}
