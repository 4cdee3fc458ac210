import type { JSX } from 'preact';

/** Why the page of a queue is not live, where nobody may switch its events on from here. */
export function EventsOff({ queue }: { readonly queue: string }): JSX.Element {
  return (
    <p class="notice" role="status">
      The events of this queue are off, and a read-only console changes nothing. So there are no times, no
      time lines and no live values. To switch the events on, call{' '}
      <code>{`queue.configure({ keepEvents: 10_000 })`}</code>, or{' '}
      <code>{`PUT /v1/queues/${encodeURIComponent(queue)} {"keepEvents": 10000}`}</code> with an API key. This
      page notices it within seconds.
    </p>
  );
}
