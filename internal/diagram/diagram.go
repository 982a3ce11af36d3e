package diagram
