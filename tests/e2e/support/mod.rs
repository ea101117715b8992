//! The bench: a real etcd and kube-apiserver on loopback, and hands to work them with.

pub mod apply;
pub mod bench;
pub mod complete;
pub mod crds;
pub mod kubelet;
pub mod port;
pub mod process;
pub mod recorded;
pub mod tools;

pub use bench::Bench;
pub use kubelet::Kubelet;
