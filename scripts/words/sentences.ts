import { parseAst } from 'vite'

/** A node of the syntax tree, as far as texts are concerned. */
interface Node {
  readonly type: string
  readonly value?: unknown
  readonly name?: Node & { readonly name?: string }
  readonly [key: string]: unknown
}

/** Elements that are part of the text around them. */
const INLINE = new Set(['a', 'b', 'code', 'em', 'kbd', 'small', 'span', 'strong', 'Button', 'Time', 'var'])
/** Attributes whose value is not shown to users. */
const UNREAD =
  /^(className|type|href|role|id|htmlFor|kind|tone|key|rel|target|autoComplete|name|method|path|to|xmlns|d|viewBox|list|shortcut|scope|fill|stroke|slot|data-.*|aria-(live|haspopup|current|controls|describedby|labelledby|hidden|sort|selected|pressed))$/
/** Calls whose arguments are not shown to users. */
const UNREAD_CALLS =
  /^(querySelector|querySelectorAll|closest|createElement|getElementById|addEventListener|import|matchMedia|set|get)$/

/** The texts of a source file in the order of the file; `{…}` stands for a value. */
export function sentencesOf(source: string, lang: 'ts' | 'tsx'): string[] {
  const sentences: string[] = []
  const add = (text: string) => {
    // Pages that the server renders are templates with markup.
    const parts = /<[a-z!/]/.test(text) ? text.split(/<[^>]*>/) : [text]
    for (const part of parts) {
      const clean = part.replace(/\s+/g, ' ').trim()
      if (isText(clean)) sentences.push(clean)
    }
  }

  function visit(value: unknown): void {
    if (Array.isArray(value)) for (const each of value) visit(each)
    else if (isNode(value)) visitNode(value)
  }

  function visitChildren(node: Node): void {
    for (const [key, value] of Object.entries(node)) if (key !== 'type') visit(value)
  }

  function visitNode(node: Node): void {
    switch (node.type) {
      case 'ImportDeclaration':
      case 'ImportExpression':
      case 'ExportAllDeclaration':
      case 'TSTypeAliasDeclaration':
      case 'TSInterfaceDeclaration':
      case 'TSTypeAnnotation':
      case 'TSTypeParameterInstantiation':
      case 'ThrowStatement':
        // An error of a programmer, unless it is one for the user.
        if (node.type === 'ThrowStatement' && isApiError(node.argument)) visitChildren(node)
        return
      case 'JSXElement':
      case 'JSXFragment':
        visitElement(node)
        return
      case 'JSXAttribute':
        if (!UNREAD.test(String(node.name?.name ?? ''))) visit(node.value)
        return
      case 'BinaryExpression':
        if (['===', '!==', 'in'].includes(String(node.operator))) return
        break
      case 'SwitchCase':
        visit(node.consequent)
        return
      case 'CallExpression':
        visit(node.callee)
        if (!UNREAD_CALLS.test(calleeName(node.callee))) visit(node.arguments)
        return
      case 'Property':
        // A name in quotes is a text only in tables of texts, where it starts with a capital letter.
        visit(node.value)
        return
      case 'Literal':
        if (typeof node.value === 'string') add(node.value)
        return
      case 'TemplateLiteral':
        add(textOf(node))
        visit(node.expressions)
        return
    }
    visitChildren(node)
  }

  function visitElement(node: Node): void {
    visit((node.openingElement as Node | undefined)?.attributes)
    let text = ''
    for (const child of node.children as Node[]) {
      if (isBlock(child)) {
        add(text)
        text = ''
        visit(child)
      } else {
        text += textOf(child)
        visitExpressions(child)
      }
    }
    add(text)
  }

  /** The texts inside the values and attributes of inline content. */
  function visitExpressions(node: Node): void {
    if (node.type === 'JSXExpressionContainer') {
      const expression = node.expression as Node
      addAlternatives(expression)
      if (expression.type !== 'Literal') visit(expression)
    } else if (node.type === 'JSXElement') {
      visit((node.openingElement as Node).attributes)
      for (const child of node.children as Node[]) visitExpressions(child)
    }
  }

  /** The alternatives of a value in a text are read even if they are one word in lower case. */
  function addAlternatives(node: Node): void {
    if (node.type === 'ConditionalExpression') {
      addAlternatives(node.consequent as Node)
      addAlternatives(node.alternate as Node)
    } else if (node.type === 'LogicalExpression') addAlternatives(node.right as Node)
    else if (node.type === 'Literal' && typeof node.value === 'string' && /^[a-z]{2,}$/.test(node.value))
      sentences.push(node.value)
  }

  visit(parseAst(source, { lang }) as unknown)
  return [...new Set(sentences)]
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
}

function isBlock(node: Node): boolean {
  if (node.type === 'JSXFragment') return true
  if (node.type === 'JSXElement')
    return !INLINE.has(elementName(node)) || (node.children as Node[]).some(isBlock)
  return node.type === 'JSXExpressionContainer' && containsElement(node.expression)
}

function containsElement(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(containsElement)
  if (!isNode(value)) return false
  return (
    value.type === 'JSXElement' || value.type === 'JSXFragment' || Object.values(value).some(containsElement)
  )
}

const elementName = (node: Node) => String((node.openingElement as Node).name?.name ?? '')

function calleeName(callee: unknown): string {
  const node = callee as Node
  return String((node.property as Node | undefined)?.name ?? node.name ?? '')
}

const isApiError = (node: unknown) =>
  isNode(node) &&
  node.type === 'NewExpression' &&
  /Error$/.test(calleeName(node.callee)) &&
  calleeName(node.callee) !== 'Error'

/** The text of inline content. */
function textOf(node: Node): string {
  switch (node.type) {
    case 'JSXText':
      return decodeEntities(String(node.value))
    case 'JSXExpressionContainer': {
      const expression = node.expression as Node
      if (expression.type === 'JSXEmptyExpression') return ''
      return expression.type === 'Literal' ? String(expression.value) : '{…}'
    }
    case 'JSXElement':
      return (node.children as Node[]).map(textOf).join('')
    case 'TemplateLiteral':
      return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join('{…}')
    default:
      return ''
  }
}

const decodeEntities = (text: string) =>
  text.replaceAll('&nbsp;', ' ').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

/** Headers, policies of browsers, commands, drawings and scripts. */
const CODE = /'(none|self)'|charset|nosniff|no-store|application\/|^-H |=>|\bconst |^M\d|^;/

/** Whether people read it: words with a space between them, or one word with a capital letter. */
function isText(text: string): boolean {
  if (!/\p{L}{2}/u.test(text.replaceAll('{…}', ''))) return false
  if (CODE.test(text)) return false
  // Paths, selectors, media types, expressions and identifiers.
  if (
    /^[./#[:(*]|^[a-z]+\/[a-z]|^https?:|^[\w-]+(=|:[\w-]*$)|^[A-Z_]+$|^[a-z\d]+([-_.][a-z\d]+)*$|[{};]\s*$/.test(
      text,
    )
  )
    return false
  if (
    /^[a-z-]+ [a-z-]+$/.test(text) &&
    /^(button|badge|notice|field|table|side|method|card|flow|row|plot|tile)\b/.test(text)
  )
    return false
  return / /.test(text.replace(/ ?\{…\} ?/g, '')) || /^\p{Lu}\p{Ll}+$/u.test(text.replace(/ ?\{…\} ?/g, ''))
}
