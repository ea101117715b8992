//! loss
use super::*;
#[derive(Debug)]
pub struct Audit<'a> {
    pub looked: Looked<'a>,
}
pub const ALL: &[&Condition] = &[];
