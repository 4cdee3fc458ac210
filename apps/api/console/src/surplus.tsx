import type { JSX } from 'preact';

import { useLive } from './live.ts';
import { plural } from './ui/text.ts';

/** Tells that some values of the page are not live, since a stream has a limit of topics. */
export function Surplus(): JSX.Element | null {
  const { surplus } = useLive();
  if (surplus === 0) return null;
  return (
    <p class="banner quiet" role="status">
      A page follows 10 topics at most: {plural(surplus, 'part')} of this one will not change by itself.
    </p>
  );
}
