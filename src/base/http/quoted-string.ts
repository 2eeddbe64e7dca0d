/** Whether a text can stand in a quoted string of a header as it is: printable ASCII, without quotation marks and backslashes. */
export function isQuotable(text: string): boolean {
  return /^[\x20!\x23-\x5b\x5d-\x7e]*$/.test(text)
}
