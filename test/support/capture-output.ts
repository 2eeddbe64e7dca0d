/** A terminal that keeps what is written. */
export function captureOutput() {
  const written = { out: '', error: '' }
  return {
    written,
    out: (text: string) => {
      written.out += text
    },
    error: (text: string) => {
      written.error += text
    },
  }
}
