mod bounds;
mod cases;
mod dense;
mod examples;
mod random;
mod slopes;
mod variances;
