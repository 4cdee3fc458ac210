/** The market: what is for sale, and what happens as it happens. */
import type { JSX } from 'preact';
import { useCallback, useState } from 'preact/hooks';

import type { AreaProps } from '../../areas.ts';
import { call, path, withQuery } from '../../http.ts';
import { useTopic } from '../../live.ts';
import type { LiveEvent } from '../../live.ts';
import { hrefOf, usePlace } from '../../location.ts';
import { useResource, useThrottled } from '../../resource.ts';
import { mayChange, mayDo } from '../../session.ts';
import { Dialog, DialogButton, Field } from '../../ui/dialog.tsx';
import { TableOf } from '../../ui/paged-table.tsx';
import { usePages } from '../../ui/pages.ts';
import type { Tone } from '../../ui/elements.tsx';
import { Card, Empty, Head, State, Tabs, Time } from '../../ui/elements.tsx';
import { ACTIONS, Table } from '../../ui/table.tsx';
import { countText, instantText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';
import type { Mails, MarketFigures } from './figures.tsx';
import { Figures } from './figures.tsx';

interface Listing {
  readonly id: string;
  readonly itemId: string;
  readonly sellerId: string;
  readonly price: number;
  readonly listedAt: number;
  readonly opensAt?: number;
  readonly expiresAt?: number;
}

interface Change {
  readonly key: string;
  readonly at: number;
  readonly type: string;
  readonly listing?: Listing;
}

const TONES: Readonly<Record<string, Tone>> = {
  listed: 'busy',
  sold: 'good',
  withdrawn: 'quiet',
  expired: 'wait',
};
const SORTS = ['newest', 'price'] as const;
const MAX_CHANGES = 50;
let last = 0;

export default function Market({ session }: AreaProps): JSX.Element {
  const sort = usePlace().query.get('sort') === 'price' ? 'price' : 'newest';
  const listings = usePages<Listing>(withQuery('market/listings', { sort, limit: 50 }));
  const [changes, setChanges] = useState<readonly Change[]>([]);
  const figures = useResource<MarketFigures>('market/figures');
  const mails = useResource<Mails>(mayDo(session, 'queues:read') ? 'queues/mail' : undefined);
  const readFigures = (): void => {
    figures.reload();
    mails.reload();
  };
  const refresh = useThrottled(
    useCallback(() => {
      listings.refresh();
      figures.reload();
      mails.reload();
    }, [listings.refresh, figures.reload, mails.reload]),
  );
  useTopic(
    'market',
    useCallback(
      (event: LiveEvent) => {
        const change = { ...(event as unknown as Change), at: Date.now(), key: String((last += 1)) };
        setChanges((before) => [change, ...before].slice(0, MAX_CHANGES));
        refresh();
      },
      [refresh],
    ),
    refresh,
  );
  const mayWrite = mayChange(session, 'market:write');
  const done = async (text: string, action: () => Promise<unknown>): Promise<boolean> => {
    const isDone = await act(text, action);
    listings.reload();
    readFigures();
    return isDone;
  };
  return (
    <>
      <Head title="Market" />
      <Figures figures={figures} mails={mails.value} />
      <Tabs
        label="Order"
        current={sort}
        tabs={SORTS.map((key) => ({
          key,
          href: hrefOf(['market'], { sort: key }),
          title: key === 'newest' ? 'Newest first' : 'Cheapest first',
        }))}
      />
      <TableOf
        pages={listings}
        label="Listings"
        idOf={({ id }) => id}
        empty="Nothing is for sale."
        hint={<span>An item is here from its listing until somebody buys it.</span>}
        columns={[
          { title: 'Item', cell: ({ itemId }) => <span class="wide">{itemId}</span> },
          { title: 'Seller', cell: ({ sellerId }) => <span class="wide">{sellerId}</span> },
          { title: 'Price', kind: 'number', cell: ({ price }) => countText(price) },
          { title: 'Listed', kind: 'fit', cell: ({ listedAt }) => <Time at={listedAt} /> },
          { title: 'Expires', kind: 'fit', cell: ({ expiresAt }) => <Time at={expiresAt} /> },
          {
            ...ACTIONS,
            cell: (listing) =>
              mayWrite && (
                <span class="row">
                  <BuyButton listing={listing} done={done} />
                  <DialogButton label="Withdraw" isDanger>
                    {(close) => (
                      <Dialog
                        title={`Withdraw ${listing.itemId}`}
                        submit="Withdraw"
                        isDanger
                        close={close}
                        onSubmit={() =>
                          done(`${listing.itemId} is withdrawn.`, () =>
                            call(
                              'DELETE',
                              withQuery(path`market/listings/${listing.id}`, { sellerId: listing.sellerId }),
                            ),
                          )
                        }
                      >
                        <p>The item goes back to {listing.sellerId}.</p>
                      </Dialog>
                    )}
                  </DialogButton>
                </span>
              ),
          },
        ]}
      />
      <Card title="What happened since this page was opened">
        {changes.length === 0 ? (
          <Empty title="Nothing yet.">
            <span>Sales, listings and withdrawals appear here as they happen.</span>
          </Empty>
        ) : (
          <Table
            label="Events of the market"
            rows={changes}
            idOf={({ key }) => key}
            columns={[
              { title: 'Time', kind: 'fit', cell: ({ at }) => instantText(at) },
              {
                title: 'Event',
                kind: 'fit',
                cell: ({ type }) => <State tone={TONES[type] ?? 'quiet'}>{type}</State>,
              },
              { title: 'Item', cell: ({ listing }) => listing?.itemId },
              { title: 'Price', kind: 'number', cell: ({ listing }) => listing && countText(listing.price) },
            ]}
          />
        )}
      </Card>
    </>
  );
}

function BuyButton(props: {
  readonly listing: Listing;
  readonly done: (text: string, action: () => Promise<unknown>) => Promise<boolean>;
}): JSX.Element {
  const { listing, done } = props;
  const buy = ({ buyerId }: Readonly<Record<string, string>>): Promise<boolean> =>
    done(`${buyerId} has ${listing.itemId}.`, () =>
      call('POST', path`market/listings/${listing.id}/purchases`, {
        body: { buyerId, expectedPrice: listing.price },
      }),
    );
  return (
    <DialogButton label="Buy">
      {(close) => (
        <Dialog
          title={`Buy ${listing.itemId} for ${countText(listing.price)}`}
          submit="Buy"
          close={close}
          onSubmit={buy}
        >
          <Field label="Buyer">
            <input name="buyerId" required />
          </Field>
        </Dialog>
      )}
    </DialogButton>
  );
}
