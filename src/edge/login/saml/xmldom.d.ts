// The package's own types include the DOM library, which clashes with Node's types. These are the parts in use.

interface XmlElement {
  readonly textContent: string | null
  getAttribute(name: string): string | null
  getElementsByTagNameNS(namespace: string, name: string): ArrayLike<XmlElement>
}

export declare class DOMParser {
  constructor(options: { errorHandler: Record<'warning' | 'error' | 'fatalError', (text: string) => void> })
  parseFromString(xml: string, type: string): XmlElement | undefined
}
