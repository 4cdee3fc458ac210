/** An error as Redis keeps it: up to 2,000 characters; where it has a stack, the message up to 1,000 of them. */
export interface TaskError {
  /** The name of its class; `Error` for a thrown value that is no Error. */
  readonly name: string;
  /** The message. For a thrown value that is no Error, the string, or the output of `util.inspect`. */
  readonly message: string;
  readonly code?: string;
  /** The name, the message, and the frames outside of Mortise. */
  readonly stack: string;
}
