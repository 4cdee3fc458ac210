/** An error as Redis keeps it: up to 2,000 characters; where it has a stack, the message up to 1,000 of them. */
export interface TaskError {
  /** Of its class; `Error` for a thrown value that is no Error. */
  readonly name: string;
  /** Of a thrown value that is no Error: the string, or what `util.inspect` shows. */
  readonly message: string;
  readonly code?: string;
  /** Name, message, and the frames that are not of Mortise. */
  readonly stack: string;
}
