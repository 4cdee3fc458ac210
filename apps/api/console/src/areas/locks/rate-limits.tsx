/** Rate limits that somebody uses at the moment, with the permits that are left. A limit can be lifted once. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { call, path } from '../../http.ts';
import { hrefOf, Link } from '../../location.ts';
import type { Session } from '../../session.ts';
import { mayChange, mayDo } from '../../session.ts';
import { Bread } from '../../ui/bread.tsx';
import { useNow } from '../../ui/clock.ts';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { Figure, Head, Read, Share } from '../../ui/elements.tsx';
import { useLiveValue } from '../../ui/live-value.ts';
import { NextStep } from '../../ui/next-step.tsx';
import { OpenByName } from '../../ui/open-by-name.tsx';
import { TableOf, useLivePages } from '../../ui/paged-table.tsx';
import { ACTIONS } from '../../ui/table.tsx';
import { countText, durationText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';
import { seenAt } from './lease-left.tsx';

interface RateLimit {
  readonly name: string;
  /** Null: Redis has no state of it, or one without the limit. */
  readonly limit: number | null;
  readonly periodMs: number | null;
  readonly burst: number | null;
  readonly remaining: number | null;
  readonly resetAfterMs: number;
}

const AREA = 'rate-limits';
/** The address of the API, and the topic. */
const LIST = 'rate-limiters';

export default function RateLimits({ parts: [name], session }: AreaProps): JSX.Element {
  return name === undefined ? (
    <AllLimits session={session} />
  ) : (
    <OneLimit key={name} {...{ name, session }} />
  );
}

interface Now {
  readonly left: number | null;
  readonly resetMs: number;
}

/** What the limit has by now if nobody takes permits: counted on this page. */
function stateBy(now: number, limit: RateLimit, at: number): Now {
  const resetMs = Math.max(0, limit.resetAfterMs - (now - at));
  const { limit: permits, periodMs, burst } = limit;
  if (permits === null || periodMs === null || burst === null) return { left: null, resetMs };
  // Times are whole ms, so a permit less may come out at first.
  const left = Math.max(limit.remaining ?? 0, Math.floor(burst - (resetMs * permits) / periodMs));
  return { left, resetMs };
}

function termsText({ limit, periodMs, burst }: RateLimit): string {
  if (limit === null || periodMs === null || burst === null) return 'not known';
  return `${countText(limit)} in ${durationText(periodMs)}${burst === limit ? '' : `, ${countText(burst)} at once`}`;
}

function Left({ limit, at }: { readonly limit: RateLimit; readonly at: number }): JSX.Element {
  const { left } = stateBy(useNow(), limit, at);
  if (left === null || limit.burst === null) return <span class="muted">–</span>;
  const text = `${countText(left)} of ${countText(limit.burst)}`;
  return (
    <span class="lease number">
      {text}
      <Share used={left} of={limit.burst} label={`${text} permits left`} tone={left === 0 ? 'bad' : 'good'} />
    </span>
  );
}

function FullIn({ limit, at }: { readonly limit: RateLimit; readonly at: number }): JSX.Element {
  const { resetMs } = stateBy(useNow(), limit, at);
  return <span class="number">{resetMs > 0 ? durationText(resetMs) : 'now'}</span>;
}

function AllLimits({ session }: { readonly session: Session }): JSX.Element {
  const mayList = mayDo(session, 'locks:admin');
  const limits = useLivePages<RateLimit>(mayList ? LIST : undefined, mayList ? LIST : undefined);
  return (
    <>
      <Head title="Rate limits" />
      <OpenByName parts={[AREA]} label="Name of a rate limit" placeholder="mails" />
      {mayList ? (
        <TableOf
          pages={limits}
          label="Rate limits in use"
          idOf={({ name }) => name}
          empty="No rate limit is in use."
          hint={
            <NextStep
              code="await new RateLimiter(redis, 'mails', { limit: 30, periodMs: 60_000 }).take()"
              guide="locks/rate-limits"
            >
              A limit is here until all of its burst is there again.
            </NextStep>
          }
          columns={[
            {
              title: 'Rate limit',
              cell: ({ name }) => (
                <Link class="wide" href={hrefOf([AREA, name])}>
                  {name}
                </Link>
              ),
            },
            { title: 'Limit', cell: (limit) => <span class="wide">{termsText(limit)}</span> },
            {
              title: 'Permits left',
              kind: 'number',
              cell: (limit) => <Left limit={limit} at={seenAt(limit)} />,
            },
            {
              title: 'Full again in',
              kind: 'number',
              cell: (limit) => <FullIn limit={limit} at={seenAt(limit)} />,
            },
            {
              ...ACTIONS,
              cell: ({ name }) => <Reset {...{ name, session }} done={limits.reload} />,
            },
          ]}
        />
      ) : (
        <p class="muted">The list of all rate limits needs the scope locks:admin.</p>
      )}
    </>
  );
}

interface OneProps {
  readonly name: string;
  readonly session: Session;
}

function OneLimit({ name, session }: OneProps): JSX.Element {
  const limit = useLiveValue<RateLimit>(
    path`rate-limiters/${name}`,
    `rate-limiter:${encodeURIComponent(name)}`,
  );
  const { at } = limit;
  return (
    <>
      <Head title={<Bread above={[['Rate limits', [AREA]]]} name={name} />}>
        <Reset {...{ name, session }} done={limit.reload} />
      </Head>
      <Read of={limit}>
        {(shown) => (
          <div class="grid">
            <Figure
              label="Permits left"
              value={shown.resetAfterMs === 0 ? 'All' : <Left limit={shown} at={at} />}
              note="of those that may be taken at once"
            />
            <Figure
              label="Full again in"
              value={<FullIn limit={shown} at={at} />}
              note="if nobody takes any"
            />
            <Figure label="Limit" value={termsText(shown)} note="by the last take" />
          </div>
        )}
      </Read>
    </>
  );
}

function Reset({ name, session, done }: OneProps & { readonly done: () => void }): JSX.Element | null {
  if (!mayChange(session, 'locks:admin')) return null;
  const reset = async (): Promise<boolean> => {
    const isDone = await act(`${name} has its whole burst again.`, () =>
      call('DELETE', path`rate-limiters/${name}`),
    );
    done();
    return isDone;
  };
  return (
    <DialogButton label="Reset" isDanger>
      {(close) => (
        <Dialog title={`Reset ${name}`} submit="Reset" isDanger close={close} onSubmit={reset}>
          <p>Callers that were refused may call at once.</p>
        </Dialog>
      )}
    </DialogButton>
  );
}
