type Json = Record<string, unknown>

function escaped(text: unknown): string {
  return String(text ?? '').replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Finds the schema that a `$ref` names. */
type Resolve = (schema: Json) => Json

function typeOf(schema: Json, resolve: Resolve): string {
  if (schema.$ref !== undefined) return String(resolve(schema).title)
  if (schema.enum !== undefined)
    return (schema.enum as unknown[]).map((word) => JSON.stringify(word)).join(' | ')
  if (schema.anyOf !== undefined)
    return (schema.anyOf as Json[]).map((member) => typeOf(member, resolve)).join(' | ')
  const type = [schema.type ?? 'any'].flat().join(' | ')
  return type.startsWith('array') ? `array of ${typeOf((schema.items ?? {}) as Json, resolve)}` : type
}

function inner(schema: Json, resolve: Resolve): Json | undefined {
  const candidates = [
    schema,
    ...((schema.anyOf ?? []) as Json[]),
    ...(schema.items ? [schema.items as Json] : []),
  ]
  return candidates.map(resolve).find((candidate) => candidate.properties !== undefined)
}

function fields(given: Json, resolve: Resolve, depth = 0): string {
  const schema = resolve(given)
  const required = new Set((schema.required ?? []) as string[])
  const rows = Object.entries((schema.properties ?? {}) as Record<string, Json>).map(([name, value]) => {
    const limits = ['maxLength', 'minimum', 'maximum', 'maxItems', 'minItems']
      .filter((limit) => value[limit] !== undefined)
      .map((limit) => `${limit} ${value[limit]}`)
    const below = depth < 4 ? inner(value, resolve) : undefined
    return `<tr><td><code>${escaped(name)}</code>${required.has(name) ? ' <b>required</b>' : ''}</td><td>${escaped(typeOf(value, resolve))} <small>${escaped(limits.join(', '))}</small>${below ? fields(below, resolve, depth + 1) : ''}</td></tr>`
  })
  return rows.length === 0 ? '<p>No fields.</p>' : `<table>${rows.join('')}</table>`
}

/** A page that shows every route of the OpenAPI document; works without scripts, filters with one. */
export function referencePage(document: Json): string {
  const { schemas } = document.components as { schemas: Record<string, Json> }
  const resolve: Resolve = (schema) =>
    typeof schema.$ref === 'string' ? schemas[schema.$ref.split('/').at(-1)!]! : schema
  const byTag = new Map<string, string[]>()
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, Json>>))
    for (const [method, operation] of Object.entries(methods)) {
      const tag = String((operation.tags as string[])[0])
      const body = (operation.requestBody as { content: Record<string, { schema: Json }> } | undefined)
        ?.content['application/json']?.schema
      const responses = operation.responses as Record<string, { content?: Record<string, { schema: Json }> }>
      const [status, answer] = Object.entries(responses)[0]!
      const answerSchema = answer.content?.['application/json']?.schema
      const entry = `<details class="operation" id="${escaped(operation.operationId)}"><summary><span class="method ${method}">${method.toUpperCase()}</span> <code>${escaped(path)}</code> <span>${escaped(operation.summary)}</span></summary>
${body ? `<h4>Body</h4>${fields(body, resolve)}` : ''}<h4>Answer ${escaped(status)}</h4>${answerSchema ? fields(answerSchema, resolve) : '<p>No body.</p>'}</details>`
      byTag.set(tag, [...(byTag.get(tag) ?? []), entry])
    }
  const tags = [...byTag.keys()]
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Adit management API</title><link rel="stylesheet" href="/reference.css"></head><body>
<header><h1>Adit management API</h1><p>${escaped((document.info as Json).description)} The machine-readable form is <a href="/openapi.json">/openapi.json</a>.</p>
<label>Filter <input id="filter" type="search" placeholder="path or words"></label></header>
<nav>${tags.map((tag) => `<a href="#tag-${escaped(tag)}">${escaped(tag)}</a>`).join('')}</nav>
<main>${tags.map((tag) => `<section id="tag-${escaped(tag)}"><h2>${escaped(tag)}</h2>${byTag.get(tag)!.join('\n')}</section>`).join('\n')}</main>
<script src="/reference.js"></script></body></html>`
}

export const referenceStyle = `:root{color-scheme:light dark;font-family:system-ui,sans-serif;line-height:1.45}
body{max-width:62rem;margin:0 auto;padding:1rem}nav{display:flex;flex-wrap:wrap;gap:.3rem .8rem;font-size:.9rem}
.operation{border:1px solid color-mix(in srgb,currentColor 20%,transparent);border-radius:.5rem;margin:.4rem 0;padding:.5rem .8rem}
summary{cursor:pointer;overflow-wrap:anywhere}.method{display:inline-block;min-width:4.2rem;font-weight:700}
.get{color:#0a7d38}.post{color:#0757c4}.patch,.put{color:#a05a00}.delete{color:#b3261e}
@media(prefers-color-scheme:dark){.get{color:#57d18a}.post{color:#7db3ff}.patch,.put{color:#f0b35c}.delete{color:#ff8a80}}
table{border-collapse:collapse;width:100%;font-size:.9rem}td{border-top:1px solid color-mix(in srgb,currentColor 15%,transparent);padding:.25rem .5rem;vertical-align:top}
input{font:inherit;padding:.3rem .5rem;width:min(100%,24rem)}[hidden]{display:none}
`

export const referenceScript = `const filter = document.getElementById('filter')
filter.addEventListener('input', () => {
  const words = filter.value.toLowerCase().split(/\\s+/)
  for (const operation of document.querySelectorAll('.operation')) {
    const text = operation.querySelector('summary').textContent.toLowerCase()
    operation.hidden = !words.every((word) => text.includes(word))
  }
  for (const section of document.querySelectorAll('section')) section.hidden = !section.querySelector('.operation:not([hidden])')
})
`
