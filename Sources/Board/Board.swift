// Board
