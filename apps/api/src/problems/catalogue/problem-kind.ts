/** The meaning of a problem. Texts are Markdown. */
export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  readonly when: string;
  /** The client's next step; absent where the request itself is wrong. */
  readonly action?: string;
  /** The members of the document beside those of RFC 9457. */
  readonly fields?: string;
}
