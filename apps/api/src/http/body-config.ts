/** The `RouteConfig` of routes with bodies of their own; other routes accept `MAX_BODY_BYTES`. */
export interface BodyConfig {
  readonly maxBodyBytes?: number;
  /** The route reads the body itself: any number of bytes, in any time. */
  readonly takesStream?: boolean;
}

/** For payloads, and for lists of entries. */
export const LARGE_BODY: BodyConfig = { maxBodyBytes: 1_048_576 };
