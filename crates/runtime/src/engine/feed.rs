//! What happens in all instances, as it becomes durable: the log as a feed, from any position on.
//!
//! A feed reads the log and keeps nothing: whoever is slow reads later, and nothing waits for them. It is told that
//! there is something new by who writes, and how far it has read is a text that outlives the process.

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc};

use travertine_store::{Seq, ShardId, codec::record::decode_records, record::Record};

use crate::{Definition, DefinitionKey, Engine, Error, InstanceId, Timestamp};

/// How many entries of a shard are read at once.
const ENTRIES: usize = 200;

/// Of how many instances a feed remembers what they run.
const REMEMBERED: usize = 4_096;

/// How far the log of each shard was read.
///
/// ```
/// # use travertine_runtime::engine::Positions;
/// let text = "12.7";
/// assert_eq!(text.parse::<Positions>().unwrap().to_string(), text);
/// assert!("12,7".parse::<Positions>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Positions(Vec<Seq>);

impl Positions {
    /// How many entries are after these and not after others.
    ///
    /// ```
    /// # use travertine_runtime::engine::Positions;
    /// let of = |text: &str| text.parse::<Positions>().unwrap();
    /// assert_eq!(of("12.7").behind(&of("15.9")), 5);
    /// ```
    pub fn behind(&self, others: &Self) -> u64 {
        let between = |(own, other): (&Seq, &Seq)| other.saturating_sub(*own);
        self.0.iter().zip(&others.0).map(between).sum()
    }
}

impl fmt::Display for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join("."))
    }
}

/// A text that names no positions.
///
/// ```
/// # use travertine_runtime::engine::Positions;
/// let error = "soon".parse::<Positions>().unwrap_err();
/// assert!(error.to_string().contains("position"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadPositions;

impl fmt::Display for BadPositions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is no position of a feed; take it from what the feed has said")
    }
}

impl std::error::Error for BadPositions {}

impl FromStr for Positions {
    type Err = BadPositions;

    fn from_str(text: &str) -> Result<Self, BadPositions> {
        let all: Result<Vec<Seq>, _> = text.split('.').map(str::parse).collect();
        all.map(Self).map_err(|_| BadPositions)
    }
}

/// Something that has become true of an instance.
///
/// ```
/// # use travertine_runtime::engine::News;
/// fn in_words(it: &News) -> String {
///     let of = it.definition.as_ref().map_or("something", |it| &it.id);
///     format!("instance {} of {of}: entry {}", it.instance, it.entry)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct News {
    /// The shard in whose log it stands.
    pub shard: u16,
    /// Its place there.
    pub entry: Seq,
    /// When.
    pub at: Timestamp,
    /// The instance.
    pub instance: InstanceId,
    /// What it runs; `None` where that is not known any more.
    pub definition: Option<Arc<Definition>>,
    /// What it tells.
    #[doc(hidden)] // For those who put it into words; it is of the kernel.
    pub records: Vec<Record>,
}

/// Entries of the log that were forgotten before a feed could read them.
///
/// ```
/// # use travertine_runtime::engine::Gap;
/// fn count(it: &Gap) -> u64 {
///     it.last - it.first + 1
/// }
/// assert_eq!(count(&Gap { shard: 0, first: 7, last: 9 }), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The shard in whose log they stood.
    pub shard: u16,
    /// The first of them.
    pub first: Seq,
    /// The last of them.
    pub last: Seq,
}

/// The log from a position on.
///
/// ```no_run
/// # use travertine_runtime::{Engine, Error};
/// # async fn example(engine: Engine) -> Result<(), Error> {
/// let Some(mut feed) = engine.feed(None).await? else { return Ok(()) };
/// for it in feed.next().await? {
///     println!("instance {} has changed", it.instance);
/// }
/// println!("read up to {}", feed.positions());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Feed {
    engine: Engine,
    positions: Positions,
    /// What instances run.
    definitions: BTreeMap<InstanceId, DefinitionKey>,
    gaps: Vec<Gap>,
}

impl Engine {
    /// What happens from now on, or after these positions; `None` where they are not of this store, or of another time
    /// of it.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Engine, Error};
    /// # async fn example(engine: Engine) -> Result<(), Error> {
    /// let feed = engine.feed("12.7".parse().ok()).await?;
    /// # Ok(()) }
    /// ```
    pub async fn feed(&self, after: Option<Positions>) -> Result<Option<Feed>, Error> {
        let shards = self.store().shards();
        let last = self
            .reading()
            .read(move |store| {
                let all = (0..shards).map(|it| store.last(ShardId(it)));
                Ok(all.collect::<Result<Vec<Seq>, _>>()?)
            })
            .await?;
        let positions = match after {
            None => Positions(last),
            Some(after) => {
                let fits =
                    after.0.len() == last.len() && after.0.iter().zip(&last).all(|(a, b)| a <= b);
                if !fits {
                    return Ok(None);
                }
                after
            }
        };
        Ok(Some(Feed {
            engine: self.clone(),
            positions,
            definitions: BTreeMap::new(),
            gaps: Vec::new(),
        }))
    }
}

impl Feed {
    /// How far it was read.
    ///
    /// ```no_run
    /// # use travertine_runtime::engine::Feed;
    /// # fn example(feed: &Feed) {
    /// println!("{}", feed.positions());
    /// # }
    /// ```
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// What has happened since then; waited for, where nothing has. Of a shard it comes in order. There may be
    /// nothing in it: shards write of themselves, too. Nothing is lost where the future is dropped before it is ready.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Error, engine::Feed};
    /// # async fn example(mut feed: Feed) -> Result<(), Error> {
    /// println!("{}", feed.next().await?.len());
    /// # Ok(()) }
    /// ```
    pub async fn next(&mut self) -> Result<Vec<News>, Error> {
        loop {
            // Whoever writes after this is heard of.
            let engine = self.engine.clone();
            let written = engine.inner.common.written.notified();
            tokio::pin!(written);
            written.as_mut().enable();
            if let Some(news) = self.ready().await? {
                return Ok(news);
            }
            written.await;
        }
    }

    /// Reads what has happened so far, without waiting for more; `None` where nothing has.
    ///
    /// ```no_run
    /// # use travertine_runtime::{Error, engine::Feed};
    /// # async fn example(mut feed: Feed) -> Result<(), Error> {
    /// while let Some(news) = feed.ready().await? {
    ///     println!("{}", news.len());
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn ready(&mut self) -> Result<Option<Vec<News>>, Error> {
        let before = self.positions.clone();
        let news = self.read().await?;
        Ok((self.positions != before).then_some(news))
    }

    /// What was forgotten before it could be read, since this was asked last.
    ///
    /// ```no_run
    /// # use travertine_runtime::engine::Feed;
    /// # fn example(feed: &mut Feed) {
    /// for gap in feed.take_gaps() {
    ///     println!("entries {} to {} are gone", gap.first, gap.last);
    /// }
    /// # }
    /// ```
    pub fn take_gaps(&mut self) -> Vec<Gap> {
        std::mem::take(&mut self.gaps)
    }

    async fn read(&mut self) -> Result<Vec<News>, Error> {
        let from = self.positions.0.clone();
        let lots = self
            .engine
            .reading()
            .read(move |store| {
                let shards = (0..).zip(&from);
                let lots =
                    shards.map(|(shard, after)| store.entries(ShardId(shard), *after, ENTRIES));
                Ok(lots.collect::<Result<Vec<_>, _>>()?)
            })
            .await?;
        // Whoever does not wait to the end of it reads all of it again.
        let (mut positions, mut gaps) = (self.positions.clone(), Vec::new());
        let mut news = Vec::new();
        for (shard, entries) in (0_u16..).zip(lots) {
            for entry in entries {
                let read = &mut positions.0[usize::from(shard)];
                let first = std::mem::replace(read, entry.seq) + 1;
                if first < entry.seq {
                    gaps.push(Gap { shard, first, last: entry.seq - 1 });
                }
                // What cannot be read is for `verify` to tell.
                let Ok(records) = decode_records(&entry.body) else { continue };
                if entry.instance == InstanceId::NONE {
                    continue;
                }
                let definition = self.definition(entry.instance, &records).await?;
                let (instance, at) = (entry.instance, entry.at);
                news.push(News { shard, entry: entry.seq, at, instance, definition, records });
            }
        }
        self.positions = positions;
        self.gaps.append(&mut gaps);
        Ok(news)
    }

    /// What an instance runs, as its entries say, or its row.
    async fn definition(
        &mut self,
        instance: InstanceId,
        records: &[Record],
    ) -> Result<Option<Arc<Definition>>, Error> {
        let said = records.iter().rev().find_map(|it| match it {
            Record::Created(created) => Some(created.definition),
            Record::Migrated { definition } => Some(*definition),
            Record::Folded(folded) => Some(folded.created.definition),
            _ => None,
        });
        let known = said.or_else(|| self.definitions.get(&instance).copied());
        let key = match known {
            Some(key) => Some(key),
            None => self.found(instance).await?,
        };
        let Some(key) = key else { return Ok(None) };
        if self.definitions.len() >= REMEMBERED {
            self.definitions.clear();
        }
        self.definitions.insert(instance, key);
        Ok(self.engine.definitions().get(key).cloned())
    }

    /// What an instance runs, by its row; one whose row is not stored yet is asked for by itself.
    async fn found(&self, instance: InstanceId) -> Result<Option<DefinitionKey>, Error> {
        let reading = self.engine.reading();
        let row = reading.read(move |store| Ok(store.instance(instance)?)).await?;
        if let Some(row) = row {
            return Ok(Some(row.definition_key));
        }
        match self.engine.look(instance).await {
            Ok(look) => Ok(Some(look.row.definition_key)),
            Err(Error::NoSuchInstance(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
