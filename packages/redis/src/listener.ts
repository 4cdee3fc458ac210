/**
 * One party that hears everything that is said to all on a channel, for as long as it likes. A waiter keeps messages until
 * somebody asks for the next one; a listener is called with each, so a thousand followers may share one without a promise each.
 */

/** Called by the hub. None of these may throw. */
export interface Listener {
  /** A message `*:<body>`. Messages to single waiters are not heard. */
  onMessage(body: Buffer): void;
  /**
   * The subscription was interrupted and is whole again: look at the state in Redis. What was said since the interruption
   * began, also behind the new confirmation, was left out: it is in the state, or was of no lasting importance. So nothing is
   * heard behind a loss before the loss is known.
   */
  onResync(): void;
  /** The client was closed: the listener is not on the channel any more. Also during a `listen` that then rejects. */
  onClosed(): void;
}
