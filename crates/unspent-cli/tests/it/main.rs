//! The command as a user meets it: exit code, standard output, standard error and files of the real program.
//!
//! One binary for all of them, so that the program's dependencies are linked once.

mod support;

mod account;
mod account_mechanisms;
mod accuracy;
mod allocations;
mod crowd;
mod design;
mod disk;
mod estimate;
mod files;
mod help;
mod interval;
mod kills;
mod manners;
mod measure;
mod names;
mod openapi;
mod pages;
mod promises;
mod regress;
mod reproduce;
mod sample;
mod serve;
mod stated;
mod synthesize;
mod tree;
mod utility;
