/** How far the clock of an identity provider may be off. */
export const MAX_CLOCK_SKEW_MS = 60_000
/** How long after its issue an assertion is accepted. */
export const MAX_ASSERTION_AGE_MS = 15 * 60 * 1000
