//! What must hold of the library, through its public interface.
//!
//! One binary for all of them. What copies its own process or searches its memory is beside it, in processes
//! of their own.

mod support;

mod adversarial;
mod also;
mod certificates;
mod closed_forms;
mod external;
mod figures;
mod golden;
mod laplace;
mod paths;
mod promises;
mod refused;
mod schemas;
mod structure;
