//! Tables measured into directories and into memory, read back, and what is left where that fails.

mod accuracy;
mod bureau;
mod estimate;
mod measure;
mod processing;
mod read_back;
mod records;
mod support;
mod units;
mod utility;
