//! The tail: exceedances of a high threshold, and inference from them about rarer ones.

pub mod cluster_index;
pub mod gpd;

pub use cluster_index::intervals_index;
pub use gpd::Gpd;
