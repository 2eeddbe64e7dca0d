/** Where a command writes. */
export interface Terminal {
  out(text: string): void
  error(text: string): void
}
