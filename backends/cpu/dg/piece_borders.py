"""Faces between two pieces of tiles: where their values lie in memory, so that all others stay in the cache of a thread."""
from functools import cached_property

import numpy as np

from ..simd import target
from .tile_source import PIECE, bytes_of_tile

CACHED = 1 << 20         # bytes of unknowns and face values of a piece
LEAST = 8                # tiles: with fewer, the faces between pieces cost more time than others save


def tiles_of_piece(tables, dtype):
    """How many tiles a thread takes at a time: those that fit the second-level cache; PIECE where that is too few."""
    count = CACHED // bytes_of_tile(tables, dtype)
    return min(PIECE, count) if count >= LEAST else PIECE


def faces_read(tables, length, end):
    """(Which faces of the own elements, (element, side), have an element of another piece beyond them, those elements, which of
    their sides): pieces of so many elements, the last one up to `end`."""
    cells, sides = tables.mesh.neighbour_cell[:tables.owned], tables.mesh.neighbour_face[:tables.owned]
    read = (sides >= 0) & ((cells // length != np.arange(tables.owned)[:, None] // length) | (cells >= end))
    return read, cells[read], sides[read]


def between_pieces(tables, dtype):
    """Costs of the borders of pieces on a large mesh: the share of the tiles that have such faces, these faces per element,
    bytes of the lists that say where their values go; and whether a piece fits the cache."""
    lanes, count = target.lanes(dtype), tiles_of_piece(tables, dtype)
    _, cells, _ = faces_read(tables, count * lanes, tables.elements)
    tiles = -(-tables.elements // lanes)
    return len(np.unique(cells // lanes)) / tiles, len(cells) / tables.elements, (
        16 * len(cells) + 8 * tiles * tables.basis.face_nodes.shape[0]) / tables.elements, (
        count * bytes_of_tile(tables, dtype) <= CACHED)


class PieceBorders:
    """The faces whose values an element of another piece reads, or a mortar, and where these values lie in an array of tiles
    [tile, variable, face * face point, lane], each of which holds F L faces. The tiles of a piece follow each other.

    rows      these faces (element, side), those that piece 0 reads, then those that piece 1 reads, .., those that mortars read
    start     where the tiles of each piece begin, then those of mortars, then the end
    places    where the values of each face begin: those at its points are L numbers apart, variables as in a tile"""

    def __init__(self, operations):
        o = self.operations = operations
        t, self.length = o.tables, o.piece * o.lanes
        self.F, self.M = t.basis.face_nodes.shape
        self.size = t.variables * self.F * self.M * o.lanes          # of a tile
        pieces = -(-o.tiles // o.piece)
        self.piece = np.arange(t.owned) // self.length
        self.read, cells, sides = faces_read(t, self.length, o.tiles * o.lanes)
        joins = t.faces.at_joins.faces if t.faces.at_joins else np.empty((0, 2), int)
        self.rows = np.concatenate([np.column_stack([cells, sides]), joins])
        reader = np.concatenate([np.nonzero(self.read)[0] // self.length, np.full(len(joins), pieces)])
        counts, faces = np.bincount(reader, minlength=pieces + 1), self.F * o.lanes
        number = np.arange(len(reader)) - (np.cumsum(counts) - counts)[reader]
        self.start = np.concatenate([[0], np.cumsum(-(-counts // faces))])
        self.offsets = number // faces * self.size + number % faces // o.lanes * (self.M * o.lanes) + number % o.lanes
        self.places = self.start[reader] * self.size + self.offsets

    @cached_property
    def moves(self):
        """(start, rows (lane, where its values go)) of the faces of each tile and side: those of side f of tile i from
        start[F i + f] to start[F i + f + 1]."""
        o, (cells, sides) = self.operations, self.rows.T
        tile, lane = np.divmod(cells, o.lanes)
        key = tile * self.F + sides
        order = np.argsort(key, kind="stable")
        rows = np.column_stack([lane, self.places])[order]
        return np.searchsorted(key[order], np.arange(o.all_tiles * self.F + 1)), rows.reshape(-1)

    def exterior(self):
        """Where each face point's outside value of variable 0 lies among the face values of its piece: those of the piece's
        tiles, then the tiles of what it reads; (face * face point, own element)."""
        o, t = self.operations, self.operations.tables
        node, element = np.divmod(o.own(t.faces.exterior_nodes()), t.elements)
        tile, lane = np.divmod(element, o.lanes)
        at = (tile - self.piece * o.piece) * self.size + node * o.lanes + lane
        own = np.minimum((self.piece + 1) * o.piece, o.tiles) - self.piece * o.piece
        outside = np.zeros(self.read.shape, int)
        outside[self.read] = self.offsets[:np.count_nonzero(self.read)]
        outside = np.repeat((own[:, None] * self.size + outside).T, self.M, axis=0) + node % self.M * o.lanes
        at = np.where(np.repeat(self.read.T, self.M, axis=0), outside, at)
        return at.astype(np.int32 if at.max(initial=0) < 2 ** 31 else np.int64)

    def at_joins(self, rows, corners):
        """Where the values at the points of these faces at joins lie, (point, face), see `JoinFaces.face_places`."""
        t = self.operations.tables
        points, numbers = t.basis.points_of(rows[:, 1], corners).T % self.M, t.faces.number_at_joins(rows)
        return self.places[len(self.rows) - len(t.faces.at_joins.faces):][numbers] + points * self.operations.lanes
