//! The log as a feed.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use travertine_runtime::{
    Engine,
    engine::{Feed, Options, Positions},
};

use crate::world::{World, block_on, within};

const WAITS: &str = r#"<process id="p" isExecutable="true"><startEvent id="s"/>
    <sequenceFlow id="f" sourceRef="s" targetRef="t"/><userTask id="t"/></process>"#;

/// What comes of a future for somebody who gives up when they were told so often that it is not ready.
async fn patiently<F: Future>(future: F, times: usize) -> Option<F::Output> {
    let (mut future, mut left) = (pin!(future), times);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(came) => Poll::Ready(Some(came)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

async fn now(engine: &Engine) -> Positions {
    let feed = engine.feed(None).await.expect("it answers");
    feed.expect("from now on is always known").positions().clone()
}

async fn after(engine: &Engine, positions: &Positions) -> Feed {
    let feed = engine.feed(Some(positions.clone())).await.expect("it answers");
    feed.expect("it is a position of this store")
}

#[test]
fn nothing_is_lost_where_nobody_waits_to_the_end() {
    let world = World::with(Options { shards: 2, ..Options::default() });
    world.deploy(WAITS);
    let engine = world.engine();
    let all: Vec<_> =
        (0..9).map(|_| engine.start("p").begin().wait().expect("it starts").0).collect();
    block_on(within(async {
        // What these run is not said any more after that, and has to be asked for.
        let begin = now(engine).await;
        for it in &all {
            engine.suspend(*it).await.expect("it is suspended");
        }
        let end = now(engine).await;
        let (mut whole, mut read) = (after(engine, &begin).await, Vec::new());
        while *whole.positions() != end {
            read.extend(whole.next().await.expect("it can be read"));
        }
        assert!(whole.ready().await.expect("it can be read").is_none(), "nothing is waited for");
        let ready = after(engine, &begin).await.ready().await.expect("it can be read");
        assert!(ready.is_some_and(|it| !it.is_empty()));
        let (mut broken, mut heard) = (after(engine, &begin).await, Vec::new());
        for times in 0.. {
            if *broken.positions() == end {
                break;
            }
            let news = patiently(broken.next(), times).await;
            heard.extend(news.into_iter().flat_map(|it| it.expect("it can be read")));
        }
        let entries = |all: &[travertine_runtime::engine::News]| {
            all.iter().map(|it| (it.shard, it.entry, it.instance)).collect::<Vec<_>>()
        };
        assert!(read.len() >= all.len());
        assert_eq!(entries(&heard), entries(&read));
    }));
}
