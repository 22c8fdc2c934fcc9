mod answers;
mod deliveries;
mod faults;
mod fetching;
mod login;
mod pages;
mod registering;
mod support;
