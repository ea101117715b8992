//! How many objects a page of a list is asked for. A page is held as text, more than once, while it is
//! decoded, so it is bounded by what it weighs: 250 replicas are some 500 kB as a rule, and 250 MB with
//! an annotation of 1 MB on each.
//!
//! Stays when `streamed` goes: pages are then how every list is read.

use http::{Request, Uri};

/// What a page may weigh.
pub(super) const PAGE_BYTES: usize = 8 << 20;
/// What a page of one object may weigh, which cannot be asked for in parts. No object of Kubernetes is as
/// large: etcd refuses more than 1.5 MB unless told otherwise.
pub(super) const OBJECT_BYTES: usize = 32 << 20;
/// How much less is asked for after a page that was too heavy.
const SHRINK: u32 = 8;
/// Pages of this weight or less may hold twice as many objects.
pub(super) const LIGHT: usize = PAGE_BYTES / 8;

/// A page that is too heavy, and no smaller one can be asked for.
#[derive(Debug, thiserror::Error)]
#[error("one object weighs more than {OBJECT_BYTES} bytes")]
pub(super) struct TooHeavy;

/// The size of the next page of a kind, if it is not the usual one.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct PageSize(Option<u32>);

impl PageSize {
    /// How many objects the next page is asked for, when `usual` is the usual number.
    pub(super) fn next(self, usual: u32) -> u32 {
        self.0.map_or(usual, |size| size.min(usual)).max(1)
    }

    /// A page of `asked` objects was too heavy.
    pub(super) fn too_heavy(&mut self, asked: u32) {
        self.0 = Some((asked / SHRINK).max(1));
    }

    /// A page of at most `asked` objects weighed so much.
    pub(super) fn weighed(&mut self, asked: u32, bytes: usize, usual: u32) {
        if bytes <= LIGHT && self.0.is_some() {
            let more = asked.saturating_mul(2);
            self.0 = (more < usual).then_some(more);
        }
    }
}

/// The limit of a list; `None` for one that is not asked for in pages.
pub(super) fn limit(uri: &Uri) -> Option<u32> {
    uri.query()?.split('&').find_map(|pair| pair.strip_prefix("limit=")?.parse().ok())
}

/// The same request for this many objects.
pub(super) fn with_limit<B>(mut request: Request<B>, limit: u32) -> Request<B> {
    let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
    let new = |pair: &str| match pair.starts_with("limit=") {
        true => format!("limit={limit}"),
        false => pair.to_owned(),
    };
    let query: Vec<String> = query.split('&').map(new).collect();
    let mut parts = request.uri().clone().into_parts();
    let path = format!("{path}?{}", query.join("&"));
    // the parts are those of a valid address, but for a number
    if let Ok(path) = path.parse() {
        parts.path_and_query = Some(path);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_pages_shrink_and_light_ones_grow_back() {
        let mut size = PageSize::default();
        assert_eq!(size.next(250), 250);
        size.too_heavy(250);
        assert_eq!(size.next(250), 31);
        size.too_heavy(31);
        size.too_heavy(3);
        size.too_heavy(1);
        assert_eq!(size.next(250), 1);
        size.weighed(1, PAGE_BYTES / 2, 250);
        assert_eq!(size.next(250), 1, "a page that weighs something does not grow");
        let grown = std::iter::repeat_with(|| {
            size.weighed(size.next(250), 1000, 250);
            size.next(250)
        });
        assert_eq!(grown.take(9).collect::<Vec<_>>(), [2, 4, 8, 16, 32, 64, 128, 250, 250]);
    }

    #[test]
    fn only_the_limit_is_changed() {
        let uri = "http://api:1/api/v1/pods?&limit=250&continue=limit%3D1&resourceVersionMatch=x";
        let request = Request::get(uri).body(()).unwrap();
        assert_eq!(limit(request.uri()), Some(250));
        let request = with_limit(request, 3);
        assert_eq!(
            request.uri(),
            "http://api:1/api/v1/pods?&limit=3&continue=limit%3D1&resourceVersionMatch=x"
        );
        assert_eq!(limit(&"http://api:1/api/v1/pods".parse().unwrap()), None);
    }
}
