/** A refusal of the API: its problem document. */
export class ProblemError extends Error {
  /** The name, where a bundler renames the class. */
  static readonly className = 'ProblemError';

  /**
   * @param slug The end of the document's `type`, such as `scope-missing`; '' if the answer was no problem document.
   * @param problem The document: `title`, `detail` and members of its type.
   * @param retryAfterMs From `Retry-After`, in ms; undefined if the answer has none.
   */
  constructor(
    readonly status: number,
    readonly slug: string,
    readonly problem: Readonly<Record<string, unknown>>,
    readonly retryAfterMs: number | undefined,
  ) {
    const { detail, title } = problem;
    const text = [detail, title].find((each) => typeof each === 'string') ?? 'refused';
    super(`${status} ${slug}: ${text}`);
    this.name = ProblemError.className;
  }

  /** Whether the same request may succeed later. */
  get isTransient(): boolean {
    return this.status >= 500 || this.status === 429 || this.status === 408;
  }

  static async of(response: Response): Promise<ProblemError> {
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    const problem: unknown = await response.json().catch(() => null);
    const document = (typeof problem === 'object' && problem !== null ? problem : {}) as Record<
      string,
      unknown
    >;
    const slug = /[^/]*$/.exec(typeof document['type'] === 'string' ? document['type'] : '')![0];
    const retryAfterMs = Number.isFinite(seconds) ? seconds * 1_000 : undefined;
    return new ProblemError(response.status, slug, document, retryAfterMs);
  }
}
