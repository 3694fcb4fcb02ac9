//! All that a workflow must not do. Each line says which ban of `docs/functions/clippy.toml` it breaks.
#![allow(unused)]

use travertine::{Context, Flow};
use travertine_macros::workflow;

#[workflow]
async fn clocks(cx: Context) -> Flow<()> {
    std::time::Instant::now(); //~ std::time::Instant
    std::time::SystemTime::now(); //~ std::time::SystemTime
    tokio::time::Instant::now(); //~ tokio::time::Instant
    Ok(())
}

#[workflow]
async fn hashes(cx: Context) -> Flow<()> {
    std::collections::HashMap::from([(1, 2)]); //~ std::collections::HashMap
    std::collections::HashSet::from([1]); //~ std::collections::HashSet
    std::hash::RandomState::new(); //~ std::hash::RandomState
    Ok(())
}

#[workflow]
async fn files(cx: Context) -> Flow<()> {
    std::fs::File::open("x")?; //~ std::fs::File
    std::fs::OpenOptions::new(); //~ std::fs::OpenOptions
    std::fs::read("x")?; //~ std::fs::read
    std::fs::read_to_string("x")?; //~ std::fs::read_to_string
    std::fs::read_dir("x")?; //~ std::fs::read_dir
    std::fs::write("x", "y")?; //~ std::fs::write
    std::fs::remove_file("x")?; //~ std::fs::remove_file
    Ok(())
}

#[workflow]
async fn world(cx: Context) -> Flow<()> {
    std::net::TcpStream::connect("x")?; //~ std::net::TcpStream
    std::net::TcpListener::bind("x")?; //~ std::net::TcpListener
    std::net::UdpSocket::bind("x")?; //~ std::net::UdpSocket
    std::process::Command::new("x"); //~ std::process::Command
    std::io::stdin(); //~ std::io::stdin
    std::env::var("x")?; //~ std::env::var
    std::env::var_os("x"); //~ std::env::var_os
    std::env::args(); //~ std::env::args
    std::process::id(); //~ std::process::id
    std::process::exit(1); //~ std::process::exit
}

#[workflow]
async fn threads(cx: Context) -> Flow<()> {
    std::thread::spawn(|| ()); //~ std::thread::spawn
    std::thread::scope(|_| ()); //~ std::thread::scope
    std::thread::Builder::new().spawn(|| ())?; //~ std::thread::Builder::spawn
    std::thread::sleep(std::time::Duration::ZERO); //~ std::thread::sleep
    std::thread::park(); //~ std::thread::park
    std::sync::Mutex::new(1); //~ std::sync::Mutex
    std::sync::RwLock::new(1); //~ std::sync::RwLock
    std::sync::Condvar::new(); //~ std::sync::Condvar
    std::sync::Barrier::new(1); //~ std::sync::Barrier
    Ok(())
}

#[workflow]
async fn tasks(cx: Context) -> Flow<()> {
    let zero = std::time::Duration::ZERO;
    tokio::time::sleep(zero).await; //~ tokio::time::sleep
    tokio::time::sleep_until(todo!()).await; //~ tokio::time::sleep_until
    let _ = tokio::time::timeout(zero, async {}).await; //~ tokio::time::timeout
    tokio::time::interval(zero); //~ tokio::time::interval
    tokio::spawn(async {}); //~ tokio::spawn
    tokio::task::spawn_local(async {}); //~ tokio::task::spawn_local
    tokio::task::spawn_blocking(|| ()); //~ tokio::task::spawn_blocking
    tokio::task::yield_now().await; //~ tokio::task::yield_now
    tokio::select! { () = async {} => {} } //~ tokio::select
    Ok(())
}

fn main() {}
