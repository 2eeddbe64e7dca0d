/** What the documentation says about an error code. Code is written between backticks. */
export interface ErrorExplanation {
  readonly cause: string
  readonly next: string
}
