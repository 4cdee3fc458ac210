/** The market in numbers: how fast it sells, whether buyers compete, and the mails that the sales cause. */
import type { JSX } from 'preact';

import { hrefOf, Link } from '../../location.ts';
import type { Resource } from '../../resource.ts';
import { Figure, Read, Time } from '../../ui/elements.tsx';
import { countText, plural } from '../../ui/text.ts';

export interface MarketFigures {
  readonly listings: number;
  readonly sales: number;
  /** Sales whose mail is not enqueued yet. */
  readonly outbox: number;
  readonly salesPerSecond: number;
  /** Of one process, since its start. */
  readonly purchases: {
    readonly since: number;
    readonly sold: number;
    readonly conflicts: number;
    readonly refused: number;
  };
}

export interface Mails {
  readonly counts: Readonly<Record<string, number>>;
}

const UNSENT = ['ready', 'scheduled', 'active', 'retrying'];
const RATE = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });

interface Props {
  readonly figures: Resource<MarketFigures>;
  /** Of the queue of the mails, if the session may read it. */
  readonly mails: Mails | undefined;
}

export function Figures({ figures, mails }: Props): JSX.Element {
  return (
    <Read of={figures}>
      {({ listings, sales, outbox, salesPerSecond, purchases }) => (
        <div class="grid">
          <Figure
            label="For sale"
            value={countText(listings)}
            note={`${countText(sales)} receipts are kept`}
          />
          <Figure
            label="Sales per second"
            value={RATE.format(salesPerSecond)}
            note="in the minute before the last event"
          />
          <Figure
            label="Conflicts"
            value={countText(purchases.conflicts)}
            note={
              <>
                of {countText(purchases.conflicts + purchases.sold)} purchases, by the process of the API that
                answered, which started <Time at={purchases.since} />
              </>
            }
          />
          <Figure
            label="Mails to send"
            value={
              mails ? countText(UNSENT.reduce((sum, state) => sum + (mails.counts[state] ?? 0), 0)) : '–'
            }
            note={
              <>
                {mails && (
                  <>
                    <Link href={hrefOf(['queues', 'mail'])}>queue</Link>:{' '}
                    {countText(mails.counts['dead'] ?? 0)} failed,{' '}
                  </>
                )}
                {plural(outbox, 'sale')} in the outbox
              </>
            }
          />
        </div>
      )}
    </Read>
  );
}
