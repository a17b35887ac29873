//! The tail: what exceedances of a high threshold say about rarer ones.

pub mod cluster_index;
pub mod gev;
pub mod gpd;
mod likelihood;
#[cfg(test)]
mod reference;

pub use cluster_index::{intervals_index, k_gaps_index};
pub use gev::Gev;
pub use gpd::Gpd;
