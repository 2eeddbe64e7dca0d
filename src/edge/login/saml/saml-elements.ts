/** A parsed element of the signed XML, as the library returns it: attributes under `$`, text under `_`, children by name. */
export type Element = { readonly $?: Readonly<Record<string, string>>; readonly _?: string } & {
  readonly [child: string]: unknown
}

export function childElements(element: Element, name: string): Element[] {
  const nodes = element[name]
  return Array.isArray(nodes) ? nodes.map((child) => (typeof child === 'string' ? { _: child } : child)) : []
}

export function onlyChild(element: Element, name: string): Element {
  const nodes = childElements(element, name)
  if (nodes.length !== 1) throw new Error(`it has ${nodes.length} elements ${name} where one belongs`)
  return nodes[0]!
}

export function elementText({ _: text = '' }: Element): string {
  return text
}
