mod answers;
mod deliveries;
mod faults;
mod fetching;
mod forms;
mod login;
mod pages;
mod support;
