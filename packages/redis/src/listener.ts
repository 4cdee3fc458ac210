/**
 * Receives every message for all on a channel, without a time limit. A waiter keeps messages until `next` is called; a
 * listener is called with each message. So a thousand followers can share one listener without a promise each.
 */

/** The functions of a listener, which the hub calls. None of them may throw. */
export interface Listener {
  /** A message `*:<body>`. Messages for single waiters are not passed here. */
  onMessage(body: Buffer): void;
  /**
   * Called when an interrupted subscription is confirmed again: read the state in Redis. All messages since the start of the
   * interruption were dropped. So this call comes before any message after a loss.
   */
  onResync(): void;
  /** Called when the client was closed and the listener removed. Also called during a `listen` that then rejects. */
  onClosed(): void;
}
