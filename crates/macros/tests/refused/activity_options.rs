#![allow(unused_imports)]

use travertine::Failure;
use travertine_macros::activity;

#[activity(version = 2)]
async fn unknown() -> Result<(), Failure> {
    Ok(())
}

#[activity(timeout = "30")]
async fn unit_is_missing() -> Result<(), Failure> {
    Ok(())
}

#[activity(timeout = "1 minute")]
async fn unit_is_wrong() -> Result<(), Failure> {
    Ok(())
}

#[activity(deadline = "soon")]
async fn no_span() -> Result<(), Failure> {
    Ok(())
}

#[activity(heartbeat = "0s")]
async fn zero() -> Result<(), Failure> {
    Ok(())
}

#[activity(heartbeat = 10)]
async fn number() -> Result<(), Failure> {
    Ok(())
}

#[activity(timeout = "1s", timeout = "2s")]
async fn twice() -> Result<(), Failure> {
    Ok(())
}

#[activity(retry = sometimes)]
async fn retry_unknown() -> Result<(), Failure> {
    Ok(())
}

#[activity(retry = exponential("100ms", max = 5))]
async fn factor_is_missing() -> Result<(), Failure> {
    Ok(())
}

#[activity(retry = exponential("100ms", 0.5, max = 5))]
async fn factor_is_small() -> Result<(), Failure> {
    Ok(())
}

#[activity(retry = exponential("100ms", 2.0))]
async fn max_is_missing() -> Result<(), Failure> {
    Ok(())
}

#[activity(retry = fixed("1s", max = 0))]
async fn no_attempt() -> Result<(), Failure> {
    Ok(())
}

#[activity(retry = fixed("1sec", max = 3))]
async fn wrong_pause() -> Result<(), Failure> {
    Ok(())
}

#[activity(retry = fixed)]
async fn pause_is_missing() -> Result<(), Failure> {
    Ok(())
}

#[activity(retry = fixed("1s", most = 3))]
async fn retry_option() -> Result<(), Failure> {
    Ok(())
}

fn main() {}
