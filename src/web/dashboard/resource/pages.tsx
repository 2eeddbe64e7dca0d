import type { ComponentType } from 'react'
import type { PageProps, ResourcePages } from '../page-contracts.ts'
import { CreatePage } from './create-page.tsx'
import { DetailPage } from './detail-page.tsx'
import { EditPage } from './edit-page.tsx'
import { ListPage } from './list-page.tsx'
import './resource.css'

type Pages = Record<'list' | 'create' | 'detail' | 'edit', ComponentType<PageProps>>

/** The four pages of a resource. */
export function pagesFor(resource: ResourcePages): Pages {
  return {
    list: () => <ListPage resource={resource} />,
    create: () => <CreatePage resource={resource} />,
    detail: ({ params }) => <DetailPage resource={resource} id={params.id!} />,
    edit: ({ params }) => <EditPage resource={resource} id={params.id!} />,
  }
}
