/** The Redis of the deployment: its figures, its slow commands, and what to change. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { useResource } from '../../resource.ts';
import type { Tone } from '../../ui/elements.tsx';
import { Card, Empty, Head, Read, Share, State } from '../../ui/elements.tsx';
import { Table } from '../../ui/table.tsx';
import { bytesText, countText, durationText, instantText } from '../../ui/text.ts';
import type { NodeFigures, RedisReport } from '@mortise/api/figures';

const LEVEL_TONES: Readonly<Record<string, Tone>> = { ok: 'good', advice: 'wait', problem: 'bad' };
const UNKNOWN = <span class="muted">not told</span>;
const MICROS = 1_000;

export default function RedisArea(_props: AreaProps): JSX.Element {
  const report = useResource<RedisReport>('redis');
  const [live, setLive] = useState<readonly NodeFigures[]>();
  useTopic(
    'redis',
    useCallback((event: LiveEvent) => {
      if (event.type === 'redis') setLive(event['nodes'] as readonly NodeFigures[]);
    }, []),
  );
  return (
    <>
      <Head title="Redis">
        <button type="button" onClick={report.reload}>
          Examine again
        </button>
      </Head>
      <Read of={report}>
        {({ nodes, slow, findings }) => (
          <>
            <NodeTable nodes={live ?? nodes} />
            <Card title="What the doctor says">
              <Table
                label="Findings"
                rows={findings}
                idOf={({ subject }) => subject}
                columns={[
                  {
                    title: 'Level',
                    kind: 'fit',
                    cell: ({ level }) => <State tone={LEVEL_TONES[level]!}>{level}</State>,
                  },
                  { title: 'Subject', cell: ({ subject }) => subject },
                  { title: 'Found', cell: ({ found }) => <span class="wide">{found}</span> },
                  { title: 'What to do', cell: ({ action }) => <span class="wide">{action ?? '–'}</span> },
                ]}
              />
            </Card>
            <Card title="Slow commands">
              <Slow slow={slow} />
            </Card>
          </>
        )}
      </Read>
    </>
  );
}

function NodeTable({ nodes }: { readonly nodes: readonly NodeFigures[] }): JSX.Element {
  return (
    <Table
      label="Masters"
      rows={nodes}
      idOf={({ address }) => address}
      columns={[
        { title: 'Master', cell: ({ address }) => <code>{address}</code> },
        { title: 'Version', cell: ({ version }) => version ?? UNKNOWN },
        { title: 'Memory', cell: Memory },
        {
          title: 'When full',
          cell: ({ policy }) =>
            policy === null ? (
              UNKNOWN
            ) : (
              <State tone={policy === 'noeviction' ? 'good' : 'bad'}>{policy}</State>
            ),
        },
        {
          title: 'Commands a second',
          kind: 'number',
          cell: ({ opsPerSecond }) => (opsPerSecond === null ? UNKNOWN : countText(opsPerSecond)),
        },
        {
          title: 'Clients',
          kind: 'number',
          cell: ({ clients }) => (clients === null ? UNKNOWN : countText(clients)),
        },
      ]}
    />
  );
}

function Memory({ usedBytes, maxBytes }: NodeFigures): JSX.Element {
  if (usedBytes === null) return UNKNOWN;
  if (!maxBytes) return <span>{bytesText(usedBytes)}, no limit</span>;
  const text = `${bytesText(usedBytes)} of ${bytesText(maxBytes)}`;
  return (
    <span>
      {text} <Share used={usedBytes} of={maxBytes} label={text} />
    </span>
  );
}

function Slow({ slow }: Pick<RedisReport, 'slow'>): JSX.Element {
  if (slow === null) return <p class="muted">This server does not tell its slow commands.</p>;
  if (slow.length === 0) return <Empty title="No command was slow." />;
  return (
    <Table
      label="Slow commands"
      rows={slow}
      idOf={({ address, at, micros, command }) => `${address} ${at} ${micros} ${command}`}
      columns={[
        { title: 'Time', kind: 'fit', cell: ({ at }) => instantText(at) },
        { title: 'Command', cell: ({ command }) => <code>{command}</code> },
        { title: 'Took', kind: 'number', cell: ({ micros }) => durationText(micros / MICROS) },
        { title: 'Arguments', kind: 'number', cell: (each) => countText(each.arguments) },
        { title: 'Master', cell: ({ address }) => <code>{address}</code> },
      ]}
    />
  );
}
