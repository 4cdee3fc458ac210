/** Read-through caches: one entry, what changes as it changes, and the invalidation of a tag. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, isNotFound, path } from '../../http.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, Link, usePlace } from '../../location.ts';
import { useResource, useThrottled } from '../../resource.ts';
import type { Session } from '../../session.ts';
import { mayChange, mayDo } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { usePages } from '../../ui/pages.ts';
import { TableOf } from '../../ui/paged-table.tsx';
import { QueryInput } from '../../ui/query-input.tsx';
import { StoredNames } from '../../ui/stored-names.tsx';
import { Card, Empty, Figure, Head, Json, Read, Skeleton, State, Trouble } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { instantText, plural } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';

interface Change {
  readonly key: string;
  readonly at: number;
  readonly type: string;
  readonly about: string;
}

const MAX_CHANGES = 50;
let last = 0;

export default function Caches({ parts: [cache], session }: AreaProps): JSX.Element {
  if (cache !== undefined) return <OneCache key={cache} cache={cache} session={session} />;
  return (
    <>
      <Head title="Caches" />
      <OpenByName parts={['caches']} label="Name of a cache" placeholder="products" />
      <StoredNames
        kind="caches"
        title="Cache that has changed within a day"
        parts={['caches']}
        empty="No cache has changed within a day."
        hint={
          <NextStep
            code="await new Cache(redis, 'products').getOrLoad('42', (signal) => load(signal))"
            guide="cache/read-through"
          >
            A cache is here for a day after its last change.
          </NextStep>
        }
        session={session}
      />
    </>
  );
}

interface CacheProps {
  readonly cache: string;
  readonly session: Session;
}

function OneCache({ cache, session }: CacheProps): JSX.Element {
  const [changes, setChanges] = useState<readonly Change[]>([]);
  useTopic(
    `cache:${encodeURIComponent(cache)}`,
    useCallback((event: LiveEvent) => {
      const about = (event['key'] ?? event['tag'] ?? '') as string;
      const change = { key: String((last += 1)), at: Date.now(), type: event.type, about };
      setChanges((before) => [change, ...before].slice(0, MAX_CHANGES));
    }, []),
  );
  return (
    <>
      <Head title={<Bread above={[['Caches', ['caches']]]} name={cache} />}>
        {mayChange(session, 'cache:write') && <InvalidateButton cache={cache} />}
      </Head>
      <Hits cache={cache} />
      <div class="columns">
        <Entry cache={cache} session={session} />
        <Card title="Changes by requests since this page was opened">
          {changes.length === 0 ? (
            <Empty title="No change yet.">
              <span>Changes by programs that use the package do not show here.</span>
            </Empty>
          ) : (
            <Table
              label="Changes"
              rows={changes}
              idOf={({ key }) => key}
              columns={[
                { title: 'Time', kind: 'fit', cell: ({ at }) => instantText(at) },
                { title: 'Change', kind: 'fit', cell: ({ type }) => <State tone="busy">{type}</State> },
                { title: 'Key or tag', cell: ({ about }) => <code class="wide">{about}</code> },
              ]}
            />
          )}
        </Card>
      </div>
      <Keys cache={cache} session={session} />
    </>
  );
}

interface Counts {
  readonly hits: number;
  readonly misses: number;
}

const WHOLE = 100;

/** Reads by requests to one process of the API: programs have their own counts, as metrics. */
function Hits({ cache }: { readonly cache: string }): JSX.Element {
  const counts = useResource<Counts>(path`caches/${cache}`);
  return (
    <Read of={counts}>
      {({ hits, misses }) => (
        <div class="grid">
          <Figure
            label="Hits"
            value={hits + misses === 0 ? '–' : `${((hits / (hits + misses)) * WHOLE).toFixed(1)} %`}
            note={`of ${plural(hits + misses, 'read')} by requests to this API process`}
          />
        </div>
      )}
    </Read>
  );
}

function Keys({ cache, session }: CacheProps): JSX.Element {
  const mayList = mayDo(session, 'ops:read');
  const keys = usePages<{ readonly key: string }>(mayList ? path`caches/${cache}/entries` : undefined);
  const { refresh } = keys;
  useTopic(mayList ? `cache:${encodeURIComponent(cache)}` : undefined, useThrottled(refresh), refresh);
  if (!mayList) return <p class="muted">The list of all keys needs the scope ops:read.</p>;
  return (
    <Card title="Keys">
      <TableOf
        pages={keys}
        label="Keys"
        idOf={({ key }) => key}
        empty="No entry is cached."
        hint={<span>Keys of namespaces are not listed.</span>}
        again={keys.reload}
        columns={[
          {
            title: 'Key',
            cell: ({ key }) => (
              <Link class="wide" href={hrefOf(['caches', cache], { key })}>
                {key}
              </Link>
            ),
          },
        ]}
      />
    </Card>
  );
}

function Entry({ cache, session }: CacheProps): JSX.Element {
  const key = usePlace().query.get('key') ?? '';
  const entry = useResource<{ value: unknown }>(
    key === '' ? undefined : path`caches/${cache}/entries/${key}`,
  );
  // An invalidated tag may be one of its tags, which the page doesn't know.
  useTopic(`cache:${encodeURIComponent(cache)}`, useThrottled(entry.reload), entry.reload);
  const isMissing = isNotFound(entry.error);
  const remove = async (): Promise<boolean> => {
    const isDone = await act(`${key} is deleted.`, () =>
      call('DELETE', path`caches/${cache}/entries/${key}`),
    );
    entry.reload();
    return isDone;
  };
  return (
    <Card title="Entry">
      <label class="field">
        <span>Key</span>
        <QueryInput member="key" isFilter placeholder="product:42" value={key} />
      </label>
      {key !== '' && entry.isLoading && entry.value === undefined && <Skeleton lines={2} />}
      {isMissing && (
        <Empty title="It is not cached.">
          <span>The next read of this key loads it.</span>
        </Empty>
      )}
      {entry.error && !isMissing && <Trouble error={entry.error} />}
      {entry.value && !isMissing && <Json value={entry.value.value} />}
      {entry.value && !isMissing && mayChange(session, 'cache:write') && (
        <div class="row">
          <DialogButton label="Delete" isDanger>
            {(close) => (
              <Dialog title={`Delete ${key}`} submit="Delete" isDanger close={close} onSubmit={remove}>
                <p>The next read loads it again.</p>
              </Dialog>
            )}
          </DialogButton>
        </div>
      )}
    </Card>
  );
}

function InvalidateButton({ cache }: { readonly cache: string }): JSX.Element {
  const invalidate = ({ tag }: Readonly<Record<string, string>>): Promise<boolean> =>
    act(`${tag} is invalidated.`, () => call('POST', path`caches/${cache}/invalidations`, { body: { tag } }));
  return (
    <DialogButton label="Invalidate a tag" isDanger>
      {(close) => (
        <Dialog
          title={`Invalidate a tag of ${cache}`}
          submit="Invalidate"
          isDanger
          close={close}
          onSubmit={invalidate}
        >
          <Field label="Tag" hint="no entry with this tag is read again">
            <input name="tag" required />
          </Field>
        </Dialog>
      )}
    </DialogButton>
  );
}
