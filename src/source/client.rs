//! The client of the API server: kube's layers over a pool of connections that hold little of what they have read.

use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt};
use kube::{Client, Config};
use tower::util::option_layer;
use tower::{BoxError, Layer, ServiceExt};

/// A connection keeps the buffer of its largest answer. Those that have read a long list serve watches afterwards, for days; hyper's own
/// bound is 408 KiB, for each of forty.
const READ_BUFFER: usize = 32 << 10;

/// What `Client::try_from` makes of it, and with a bound on what connections hold.
pub(super) fn client(config: Config) -> kube::Result<Client> {
    // kube says what it cannot do with a proxy
    if config.proxy_url.is_some() {
        return Client::try_from(config);
    }
    let mut connector = TimeoutConnector::new(config.rustls_https_connector()?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    connector.set_reset_reader_on_write(config.reset_reader_on_write);
    let connections: legacy::Client<_, Body> =
        legacy::Builder::new(TokioExecutor::new()).http1_max_buf_size(READ_BUFFER).build(connector);
    let connections = connections.map_err(BoxError::from as fn(legacy::Error) -> BoxError);
    let service = config.extra_headers_layer()?.layer(connections);
    let service = option_layer(config.auth_layer()?).layer(service);
    Ok(Client::new(config.base_uri_layer().layer(service), config.default_namespace))
}
