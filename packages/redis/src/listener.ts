/**
 * A party that receives every message for all on a channel, for any length of time. A waiter keeps messages until `next` is
 * called; a listener is called with each message. So a thousand followers can share one listener without a promise each.
 */

/** Called by the hub. None of these functions may throw. */
export interface Listener {
  /** A message `*:<body>`. Messages for single waiters don't come here. */
  onMessage(body: Buffer): void;
  /**
   * The subscription was interrupted and is whole again: read the state in Redis. Messages since the beginning of the
   * interruption were dropped, also those after the new confirmation. So no message after a loss comes before the loss is
   * reported.
   */
  onResync(): void;
  /** The client was closed, and the listener is off the channel. This may come during a `listen` that then rejects. */
  onClosed(): void;
}
