/**
 * The blocks of a PEM text, in linear time. One that has no end reaches to the next, so that whoever reads it finds out.
 * With a label only blocks of that kind, such as `CERTIFICATE`.
 */
export function pemBlocks(text: string, label?: string): string[] {
  const begin = label === undefined ? '-----BEGIN ' : `-----BEGIN ${label}-----`
  return text
    .split(begin)
    .slice(1)
    .map((rest) => {
      const end = rest.indexOf('-----END ')
      const close = end === -1 ? -1 : rest.indexOf('-----', end + 9)
      return `${begin}${close === -1 ? rest : rest.slice(0, close + 5)}`
    })
}
