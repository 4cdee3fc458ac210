/** The `RouteConfig` of routes with bodies of their own; other routes accept `MAX_BODY_BYTES`. */
export interface BodyConfig {
  readonly maxBodyBytes?: number;
  /** The route reads the body itself: any number of bytes, in any time. */
  readonly takesStream?: boolean;
}
