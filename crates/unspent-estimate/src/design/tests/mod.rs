mod bounds;
mod cases;
mod dense;
mod examples;
mod kinds;
mod random;
mod slopes;
mod variances;
