import type { ComponentType } from 'react'

/** The parameters of a page: the `:names` of its path, and its query string. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

/** The sections of the navigation, in order. */
export const SECTIONS = ['', 'Traffic', 'Access', 'Certificates', 'Events', 'Account'] as const
export type Section = (typeof SECTIONS)[number]

/**
 * One page. A page with a section appears in the navigation, one with `below` as a tab of the page at that path. A page with
 * a key opens with `g` and that key.
 */
export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly section?: Section
  readonly below?: string
  readonly key?: string
  /** Only for administrators: hidden from the navigation of others, who see a notice at its address. */
  readonly adminOnly?: boolean
  /** The API path of the resources that the page creates or changes; users who may not see a notice instead. */
  readonly changes?: string
  readonly load: () => Promise<{ default: ComponentType<PageProps> }>
}

/** A resource as the API returns it. */
export type Item = { readonly id: string } & Readonly<Record<string, unknown>>

/** A column of a list: a field of the resource or of its facts, such as `name` or `target.kind`, and its format, plain text by default. */
export interface FieldColumn {
  readonly title: string
  readonly field: string
  readonly format?:
    | 'time'
    | 'code'
    | 'badge'
    | 'choice'
    | 'active'
    | 'enforced'
    | 'count'
    | 'number'
    | 'kind'
    | 'link'
}

/** The props of an extra section on a detail page. */
export interface ExtraProps {
  readonly item: Item
  readonly reload: () => void
}

/** How a form differs from the request schema that it is generated from. */
export interface FormChanges {
  /** Fields to leave out: with one possible value, or a second way to say the same. */
  readonly omit?: readonly string[] | undefined
  /** Fields to ask for that the schema does not require. */
  readonly require?: readonly string[] | undefined
}

/** One kind of resource with pages to list, show, create, edit and delete it. */
export interface ResourcePages {
  readonly prefix: string
  /** The path in the management API. */
  readonly path: string
  /** The key of its list, where that is not its path without the slash. */
  readonly listKey?: string
  /** The path in the dashboard. */
  readonly route: string
  readonly title: string
  readonly singular: string
  /** Where its list is found: in a section of the navigation, or as a tab of another page. */
  readonly section?: Section
  readonly below?: string
  readonly key?: string
  readonly adminOnly?: boolean
  /** One sentence on what it is, below the title of the list. */
  readonly lead: string
  /** What to do next, shown while the list is empty. */
  readonly emptyText: string
  /** The first column names the resource and links to its page. */
  readonly columns: readonly FieldColumn[]
  /** Whether `/dashboard/api/list_facts` has more about it for columns. */
  readonly hasFacts?: boolean
  /** The field that is shown once, after creation, with its label, and the command that takes it. */
  readonly shownOnce?: { readonly field: string; readonly label: string; readonly command?: string }
  readonly form?: FormChanges
  /** What users can do besides reading it; everything unless given. */
  readonly operations?: readonly ('create' | 'update' | 'delete')[]
  /** The warning in the delete dialog. */
  readonly deleteWarning: string
  /** The texts of a deletion that is called otherwise: the button, what happens to the resource, and the result. */
  readonly deletion?: { readonly verb: string; readonly effect: string; readonly done: string }
  /** Fields that the extra sections or other fields show. */
  readonly extraFields?: readonly string[]
}
