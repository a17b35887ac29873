//! The tail: what exceedances of a high threshold say about rarer ones.

pub mod cluster_index;
pub mod gpd;

pub use cluster_index::{intervals_index, k_gaps_index};
pub use gpd::Gpd;
